// A target that is there for its precompiled headers alone needs a source.
