# ---
# %% [markdown]
# # 7. Heads: x
#
# ## Split: the heads lie side by side
#
# ## The merge that still trains
#
# ## W_O: every head adds something
#
# ## Many small questions in place of a large one
#
# ## Backward: merge where the forward split

