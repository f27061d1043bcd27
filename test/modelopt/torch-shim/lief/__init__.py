# ModelOpt reads libraries of TensorRT plugins with it, and only those. Loading the real one takes 0.9 s of each conversion.
