# %% [markdown]
# # 16. After 2017

# ## A norm that only divides
# %% [exercise] rms_norm
# %% [derivation]
# x
# ## Positions that turn
# %% [exercise] rotary
# %% [derivation]
# x
# ## Which numbers are a pair?
# %% [exercise] test_pairs
# %% [derivation]
# x
# ## A gate in place of ReLU
# %% [exercise] swiglu
# %% [derivation]
# x
# ## Fewer keys than queries
# %% [exercise] grouped_attention
# %% [derivation]
# x
