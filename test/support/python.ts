/** A Python with numpy, onnx and onnxruntime; null where the tests were given none. */
export const TEST_PYTHON: string | null = process.env['BENCH_TEST_PYTHON'] || null;

/** What a skipped test needs. */
export const NEEDS_PYTHON =
  'needs BENCH_TEST_PYTHON: python3 -m venv /tmp/v && /tmp/v/bin/pip install numpy onnx onnxruntime && export BENCH_TEST_PYTHON=/tmp/v/bin/python';
