ALTER TABLE `environments` ADD `harness` text;--> statement-breakpoint
ALTER TABLE `run_telemetry` ADD `temperature_start_c` real;