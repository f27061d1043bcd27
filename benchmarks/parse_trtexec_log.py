"""Reads a trtexec log as a performance engineer's own script would: line by line, with compiled expressions.

    python3 parse_trtexec_log.py LOG [skip-first]

Prints one JSON object: the fields that benchmarks/parse.ts compares, and `seconds`, the time from opening the file to
having them all. With `skip-first` verbose lines are told by one look at a fixed column, before any expression: as fast
as a loop over lines in Python gets.
"""

import json
import re
import sys
import time

NUMBER = r"([-+]?\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
PREFIX = re.compile(r"\[(\d{2}/\d{2}/\d{4}-\d{2}:\d{2}:\d{2})\] \[([FEWIV])\] ?(\[TRT\] )?(.*)")
MARKER = re.compile(r"&&&& (\w+) \S+ \[TensorRT v\d+\](?: \[b\d+\])? # (.*)")
HEADING = re.compile(r"=== (.+?) ===")
AVERAGE = re.compile(
    rf"Average on (\d+) runs - GPU latency: {NUMBER} ms - Host latency: {NUMBER} ms \(enqueue {NUMBER} ms\)"
)
WARM_UP = re.compile(r"Warmup completed (\d+) queries")
QUERIES = re.compile(rf"Timing trace has (\d+) queries over {NUMBER} s")
STATISTIC = re.compile(rf"(min|max|mean|median) = {NUMBER} ms")
PERCENTILE = re.compile(rf"percentile\({NUMBER}%\) = {NUMBER} ms")
BINDING = re.compile(r"Input binding for (.*) with dimensions (\S*) is created")
TOTALS = {
    "throughputQps": re.compile(rf"Throughput: {NUMBER} qps"),
    "hostWalltimeS": re.compile(rf"Total Host Walltime: {NUMBER} s"),
    "gpuTotalS": re.compile(rf"Total GPU Compute Time: {NUMBER} s"),
}
METRICS = {
    "Latency": "latencyMs",
    "Enqueue Time": "enqueueMs",
    "H2D Latency": "h2dMs",
    "GPU Compute Time": "gpuComputeMs",
    "D2H Latency": "d2hMs",
}
BUILD = {
    "engineBuiltS": re.compile(rf"Engine built in {NUMBER} sec"),
    "createdEngineMib": re.compile(rf"Created engine with size: {NUMBER} MiB"),
    "peakMemoryMib": re.compile(
        rf"\[MemUsageStats\] Peak memory usage of TRT CPU/GPU memory allocators: CPU \d+ MiB, GPU {NUMBER} MiB"
    ),
    "loadedEngineMib": re.compile(rf"Loaded engine size: {NUMBER} MiB"),
    "deserializedS": re.compile(rf"Engine deserialized in {NUMBER} sec"),
    "parsedModelS": re.compile(rf"Finished parsing network model\. Parse time: {NUMBER}"),
    "contextMemoryMib": re.compile(
        rf"Created execution context with device memory size: {NUMBER} MiB"
    ),
}
HINTS = {
    "enqueue_bound": re.compile(r"Throughput may be bound by Enqueue Time rather than"),
    "h2d_bound": re.compile(r"Throughput may be bound by host-to-device transfers"),
    "d2h_bound": re.compile(r"Throughput may be bound by device-to-host transfers"),
    "unstable": re.compile(r"GPU compute time is unstable, with coefficient of variance"),
    "multi_stream": re.compile(r"Multiple inference streams are used"),
    "aux_streams": re.compile(r"The engine uses \d+ auxiliary streams"),
    "graph_capturing": re.compile(r"Capturing CUDA graph for the current execution context"),
    "graph_ok": re.compile(r"Successfully captured CUDA graph for the current"),
    "graph_fail": re.compile(
        r"The CUDA graph capture on the stream has failed|not permitted under CUDA graph capture"
        r"|--useCudaGraph flag has been ignored|CUDA graph capture failed"
    ),
    "weak_typing": re.compile(r"Weakly-typed networks have been deprecated"),
    "tf32_note": re.compile(r"TF32 is enabled by default"),
    "shape_default_build": re.compile(r"Dynamic dimensions required for input: .*but no shapes"),
    "shape_default_run": re.compile(
        r"(?:Shape missing for input with dynamic shape|Values missing for input shape tensor): "
    ),
    "cache_new": re.compile(r"Could not read (?:timing )?cache from: "),
    "cache_loaded": re.compile(r"Loaded \d+ bytes of (?:timing )?cache from "),
    "cache_saved": re.compile(r"Saved \d+ bytes of timing cache to "),
    "workspace_low": re.compile(r"do not have sufficient workspace memory to run"),
    "tactic_skipped": re.compile(r"Skipping tactic \S+ due to"),
    "memory_refused": re.compile(r"Requested amount of GPU memory \(\d+ bytes\) could not"),
    "lazy_loading_off": re.compile(r"CUDA lazy loading is not enabled"),
}
DEVICE = {
    "Selected Device": ("name", str),
    "Selected Device ID": ("id", int),
    "Selected Device UUID": ("uuid", str),
    "Compute Capability": ("computeCapability", str),
    "SMs": ("sms", int),
    "Device Global Memory": ("globalMemoryMib", float),
    "Shared Memory per SM": ("sharedMemoryPerSmKib", float),
    "Memory Bus Width": ("memoryBusWidthBits", float),
    "Application Compute Clock Rate": ("applicationComputeClockGhz", float),
    "Application Memory Clock Rate": ("applicationMemoryClockGhz", float),
}


def parse(lines, skip_first):
    run = {
        "commandLine": None,
        "closing": None,
        "banner": {},
        "device": {},
        "build": {},
        "bindings": {},
        "warmUpQueries": None,
        "queries": None,
        "traceWalltimeS": None,
        "trace": [],
        "totals": {},
        "metrics": {},
        "hints": [],
        "errors": [],
    }
    section = None
    number = 0
    for number, line in enumerate(lines, 1):
        if skip_first and line.startswith("[V]", 22):
            continue
        match = PREFIX.match(line)
        if match is None:
            if line.startswith("&&&& "):
                read_marker(run, line)
            continue
        severity = match[2]
        if severity == "V":
            continue
        text = match[4]
        if severity == "I":
            if text.startswith("==="):
                section = HEADING.match(text)[1]
            elif not text.strip():
                section = None
            elif section is None:
                read_report(run, number, text)
            elif section.endswith("Options"):
                read_option(run, section, text)
            elif section == "Device Information":
                read_device(run, text)
            elif section == "Performance summary":
                read_summary(run, text)
            else:
                read_report(run, number, text)
        else:
            read_hint(run, number, text)
            if severity in "EF":
                run["errors"].append([number, text])
    run["lines"] = number
    return run


def read_marker(run, line):
    match = MARKER.match(line)
    if match is None:
        return
    if match[1] == "RUNNING":
        run["commandLine"] = match[2]
    else:
        run["closing"] = match[1]


def read_option(run, section, text):
    key, colon, value = text.partition(":")
    if colon:
        options = run["banner"].setdefault(section, {})
        before = options.get(key.strip())
        options[key.strip()] = f"{before},{value.strip()}" if before else value.strip()


def read_device(run, text):
    key, colon, value = text.partition(": ")
    field = DEVICE.get(key.strip()) if colon else None
    if field is not None:
        name, kind = field
        run["device"][name] = value.strip() if kind is str else kind(value.split()[0])


def read_report(run, number, text):
    match = AVERAGE.match(text)
    if match is not None:
        run["trace"].append([float(match[2]), float(match[3]), float(match[4])])
        return
    match = WARM_UP.match(text)
    if match is not None:
        run["warmUpQueries"] = int(match[1])
        return
    match = QUERIES.match(text)
    if match is not None:
        run["queries"] = int(match[1])
        run["traceWalltimeS"] = float(match[2])
        return
    match = BINDING.match(text)
    if match is not None:
        run["bindings"][match[1]] = [int(part) for part in match[2].split("x")]
        return
    for fact, pattern in BUILD.items():
        match = pattern.match(text)
        if match is not None:
            run["build"][fact] = float(match[1])
            return
    read_hint(run, number, text)


def read_summary(run, text):
    name, colon, rest = text.partition(": ")
    metric = METRICS.get(name) if colon else None
    if metric is not None:
        values = {field: float(value) for field, value in STATISTIC.findall(rest)}
        values["percentiles"] = {
            f"{float(percent):g}": float(value) for percent, value in PERCENTILE.findall(rest)
        }
        run["metrics"][metric] = values
        return
    for total, pattern in TOTALS.items():
        match = pattern.match(text)
        if match is not None:
            run["totals"][total] = float(match[1])
            return


def read_hint(run, number, text):
    for hint, pattern in HINTS.items():
        if pattern.search(text):
            run["hints"].append([hint, number])


def main():
    start = time.perf_counter()
    with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
        run = parse(log, "skip-first" in sys.argv[2:])
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, **run}))


main()
