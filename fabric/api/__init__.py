"""The Python interface of `import fabric`, built from the same parts as the command line."""
