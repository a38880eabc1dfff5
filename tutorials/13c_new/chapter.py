# %% [markdown]
# # 13c. Test
# ## A detour beside a matrix
# ## Whose words count
# ## Around the choice
# %% [exercise] lora_backward
# %% [derivation]
# # x
# %% [exercise] answer_targets
# %% [derivation]
# # x
# %% [exercise] reinforce_backward
# %% [derivation]
# # x
