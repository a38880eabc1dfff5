# ---
# %% [markdown]
# # 6. Masks: x
#
# ## Padding: what is not there must not count
#
# ## The future: the causal mask
#
# ## Three attentions, three masks
#
# ## The other leak: a target that was not shifted
#
# ## Caught: touch one token

