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
WARM_UP = re.compile(r"Warmup completed (\d+) queries")
QUERIES = re.compile(r"Timing trace has (\d+) queries")
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
    "contextMemoryMib": re.compile(
        rf"Created execution context with device memory size: {NUMBER} MiB"
    ),
}
DEVICE = {
    "Selected Device": ("name", str),
    "Selected Device UUID": ("uuid", str),
    "Compute Capability": ("computeCapability", str),
    "Device Global Memory": ("globalMemoryMib", float),
}


def parse(lines, skip_first):
    run = {"commandLine": None, "closing": None, "warmUpQueries": None, "queries": None}
    run |= {name: {} for name in ("banner", "device", "build", "bindings", "totals", "metrics")}
    run |= {"errors": []}
    section = None
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
                read_report(run, text)
            elif section.endswith("Options"):
                read_option(run, section, text)
            elif section == "Device Information":
                read_device(run, text)
            elif section == "Performance summary":
                read_summary(run, text)
            else:
                read_report(run, text)
        elif severity in "EF":
            run["errors"].append([number, text])
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


def read_report(run, text):
    match = WARM_UP.match(text)
    if match is not None:
        run["warmUpQueries"] = int(match[1])
        return
    match = QUERIES.match(text)
    if match is not None:
        run["queries"] = int(match[1])
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


def main():
    start = time.perf_counter()
    with open(sys.argv[1], encoding="utf-8", errors="replace") as log:
        run = parse(log, "skip-first" in sys.argv[2:])
    seconds = time.perf_counter() - start
    print(json.dumps({"seconds": seconds, **run}))


main()
