ALTER TABLE `run_telemetry` ADD `process_memory_max_mib` real;--> statement-breakpoint
ALTER TABLE `run_telemetry` ADD `host_memory_max_mib` real;