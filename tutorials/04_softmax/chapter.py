# %% [markdown]
# # 4. Softmax
# ## The Jacobian that nobody builds
