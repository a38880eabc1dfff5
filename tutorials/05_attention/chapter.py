# %% [markdown]
# # 5. Attention
# ## Backward: the forward read upside down
# ## A weighted mean of values
# ## Queries ask, keys answer
