CREATE TABLE `run_flags` (
	`run_id` text NOT NULL,
	`flag` text NOT NULL,
	`effect` text NOT NULL,
	`value` real,
	`evidence` text NOT NULL,
	PRIMARY KEY(`run_id`, `flag`),
	FOREIGN KEY (`run_id`) REFERENCES `runs`(`run_id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `run_flags_by_flag` ON `run_flags` (`flag`);--> statement-breakpoint
CREATE TABLE `run_telemetry` (
	`run_id` text PRIMARY KEY NOT NULL,
	`samples` integer NOT NULL,
	`sm_clock_mhz` real,
	`sm_clock_min_mhz` real,
	`memory_clock_mhz` real,
	`power_w` real,
	`power_max_w` real,
	`power_limit_w` real,
	`temperature_max_c` real,
	`gpu_utilisation_percent` real,
	`memory_used_max_mib` real,
	`clock_reasons` text NOT NULL,
	`pcie_generation` integer,
	`pcie_width` integer,
	`other_processes` text NOT NULL,
	`host_load` real,
	FOREIGN KEY (`run_id`) REFERENCES `runs`(`run_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
ALTER TABLE `environments` ADD `tensorrt_library` text;--> statement-breakpoint
ALTER TABLE `environments` ADD `clock_policy` text;--> statement-breakpoint
ALTER TABLE `environments` ADD `max_sm_clock_mhz` real;--> statement-breakpoint
ALTER TABLE `environments` ADD `power_limit_w` real;--> statement-breakpoint
ALTER TABLE `environments` ADD `ecc` text;--> statement-breakpoint
ALTER TABLE `environments` ADD `mig` text;--> statement-breakpoint
ALTER TABLE `environments` ADD `persistence` text;--> statement-breakpoint
ALTER TABLE `environments` ADD `compute_mode` text;--> statement-breakpoint
ALTER TABLE `environments` ADD `driver_model` text;--> statement-breakpoint
ALTER TABLE `environments` ADD `vbios` text;--> statement-breakpoint
ALTER TABLE `environments` ADD `pcie_max` text;--> statement-breakpoint
ALTER TABLE `environments` ADD `cpu_governor` text;--> statement-breakpoint
ALTER TABLE `environments` ADD `numa_node` integer;--> statement-breakpoint
ALTER TABLE `environments` ADD `container` text;