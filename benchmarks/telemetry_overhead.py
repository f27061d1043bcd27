"""What watching a GPU costs the run that is watched: python3 benchmarks/telemetry_overhead.py [PAIRS] [SECONDS]

Runs a loop of short kernels (CUDA driver API, no other software needed), timed each by CUDA events, alternately alone and
with one long-lived nvidia-smi beside it as `bench run` keeps it. Prints, for the median, mean and 99th percentile of
the kernels and for the loop's rate, the change with its standard error over the pairs, in percent.
"""
import ctypes
import math
import statistics
import subprocess
import sys
import time

PTX = b"""
.version 7.0
.target sm_70
.address_size 64
.visible .entry spin(.param .u64 out, .param .u32 rounds)
{
  .reg .pred p; .reg .f32 a, b; .reg .u32 i, n; .reg .u64 o;
  ld.param.u64 o, [out]; ld.param.u32 n, [rounds];
  mov.f32 a, 0f3F800001; mov.f32 b, 0f3F7FFFFE; mov.u32 i, 0;
LOOP:
  fma.rn.f32 a, a, b, b;
  add.u32 i, i, 1; setp.lt.u32 p, i, n; @p bra LOOP;
  cvta.to.global.u64 o, o; st.global.f32 [o], a; ret;
}
"""
FIELDS = (
    "timestamp,uuid,clocks.current.sm,clocks.current.memory,power.draw,power.limit,temperature.gpu,"
    "utilization.gpu,memory.used,clocks_event_reasons.active,pcie.link.gen.current,pcie.link.width.current"
)
KERNEL_MS = 0.4
WARM_UP_S = 1.0

cuda = ctypes.CDLL("libcuda.so.1")


def call(name, *args):
    code = getattr(cuda, name)(*args)
    if code != 0:
        raise SystemExit(f"{name} gave CUDA error {code}")


def setup():
    call("cuInit", 0)
    device, context, module, kernel = ctypes.c_int(), ctypes.c_void_p(), ctypes.c_void_p(), ctypes.c_void_p()
    call("cuDeviceGet", ctypes.byref(device), 0)
    call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
    call("cuCtxSetCurrent", context)
    call("cuModuleLoadData", ctypes.byref(module), PTX)
    call("cuModuleGetFunction", ctypes.byref(kernel), module, b"spin")
    out = ctypes.c_uint64()
    call("cuMemAlloc_v2", ctypes.byref(out), 256)
    return kernel, out


def event():
    made = ctypes.c_void_p()
    call("cuEventCreate", ctypes.byref(made), 0)
    return made


def measure(kernel, out, rounds, seconds):
    """Times in ms of each kernel over so many seconds, and kernels a second; one is queued ahead, as trtexec does."""
    n = ctypes.c_uint32(rounds)
    params = (ctypes.c_void_p * 2)(
        ctypes.cast(ctypes.byref(out), ctypes.c_void_p), ctypes.cast(ctypes.byref(n), ctypes.c_void_p)
    )
    ring = [(event(), event()) for _ in range(4)]
    times, launched, start = [], 0, time.perf_counter()
    ms = ctypes.c_float()
    while time.perf_counter() - start < seconds:
        begin, end = ring[launched % 4]
        if launched >= 2:
            before, after = ring[(launched - 2) % 4]
            call("cuEventSynchronize", after)
            call("cuEventElapsedTime", ctypes.byref(ms), before, after)
            times.append(ms.value)
        call("cuEventRecord", begin, None)
        call("cuLaunchKernel", kernel, 132, 1, 1, 256, 1, 1, 0, None, params, None)
        call("cuEventRecord", end, None)
        launched += 1
    call("cuCtxSynchronize")
    return times, launched / (time.perf_counter() - start)


def figures(times, rate):
    ordered = sorted(times)
    return {
        "median": statistics.median(ordered),
        "mean": statistics.fmean(ordered),
        "p99": ordered[int(len(ordered) * 0.99)],
        "rate": rate,
    }


def main():
    pairs = int(sys.argv[1]) if len(sys.argv) > 1 else 12
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 8
    kernel, out = setup()
    rounds = 1000
    for _ in range(4):
        times, _ = measure(kernel, out, rounds, 0.3)
        rounds = max(1, int(rounds * KERNEL_MS / statistics.median(times)))
    measure(kernel, out, rounds, WARM_UP_S)
    changes = {name: [] for name in ("median", "mean", "p99", "rate")}
    for pair in range(pairs):
        order = ("alone", "watched") if pair % 2 == 0 else ("watched", "alone")
        seen = {}
        for side in order:
            watcher = None
            if side == "watched":
                command = ["nvidia-smi", f"--query-gpu={FIELDS}", "--format=csv", "--loop=1", "--id=0"]
                watcher = subprocess.Popen(command, stdout=subprocess.DEVNULL)
                time.sleep(1.5)
            seen[side] = figures(*measure(kernel, out, rounds, seconds))
            if watcher is not None:
                watcher.terminate()
                watcher.wait()
        for name, values in changes.items():
            values.append(math.log(seen["watched"][name] / seen["alone"][name]) * 100)
    print(f"{pairs} pairs of {seconds:g} s, kernels of about {KERNEL_MS} ms")
    for name, values in changes.items():
        error = statistics.stdev(values) / math.sqrt(len(values))
        print(f"{name:7} {statistics.fmean(values):+.3f} % (standard error {error:.3f})")


main()
