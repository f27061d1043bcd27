CREATE TABLE `artefacts` (
	`run_id` text NOT NULL,
	`name` text NOT NULL,
	`sha256` text NOT NULL,
	`bytes` integer NOT NULL,
	PRIMARY KEY(`run_id`, `name`),
	FOREIGN KEY (`run_id`) REFERENCES `runs`(`run_id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `attempts` (
	`run_id` text NOT NULL,
	`attempt` integer NOT NULL,
	`sweep_id` text NOT NULL,
	`started_at` text NOT NULL,
	PRIMARY KEY(`run_id`, `attempt`),
	FOREIGN KEY (`sweep_id`) REFERENCES `sweeps`(`sweep_id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `baselines` (
	`name` text PRIMARY KEY NOT NULL,
	`sweep_id` text NOT NULL,
	`reason` text,
	`created_at` text DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')) NOT NULL,
	FOREIGN KEY (`sweep_id`) REFERENCES `sweeps`(`sweep_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `builds` (
	`build_id` text PRIMARY KEY NOT NULL,
	`engine_key` text,
	`model` text NOT NULL,
	`model_sha256` text,
	`flags` text NOT NULL,
	`engine_sha256` text,
	`engine_bytes` integer,
	`engine_mib` real,
	`build_s` real
);
--> statement-breakpoint
CREATE TABLE `cells` (
	`cell_key` text PRIMARY KEY NOT NULL,
	`key_version` integer NOT NULL,
	`model` text NOT NULL,
	`precision` text NOT NULL,
	`precision_via` text NOT NULL,
	`shapes` text NOT NULL,
	`cuda_graph` integer NOT NULL,
	`data_transfers` integer NOT NULL,
	`streams` integer NOT NULL,
	`spin_wait` integer NOT NULL,
	`inputs` text NOT NULL,
	`axis_flags` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `environments` (
	`environment_id` text PRIMARY KEY NOT NULL,
	`gpu_name` text,
	`gpu_uuid` text,
	`compute_capability` text,
	`gpu_memory_mib` real,
	`driver` text,
	`cuda` text,
	`tensorrt` text,
	`host` text,
	`cpu` text,
	`os` text
);
--> statement-breakpoint
CREATE TABLE `invocations` (
	`invocation_id` text PRIMARY KEY NOT NULL,
	`argv` text,
	`env` text NOT NULL,
	`banner` text NOT NULL
);
--> statement-breakpoint
CREATE TABLE `layer_profiles` (
	`run_id` text PRIMARY KEY NOT NULL,
	`iterations` integer,
	`layer_count` integer NOT NULL,
	`data` blob NOT NULL,
	FOREIGN KEY (`run_id`) REFERENCES `runs`(`run_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `measurements` (
	`run_id` text PRIMARY KEY NOT NULL,
	`throughput_qps` real NOT NULL,
	`host_walltime_s` real NOT NULL,
	`gpu_total_s` real,
	`queries` integer,
	`warm_up_queries` integer,
	`cv_percent` real,
	`enqueue_ratio` real,
	`gpu_busy` real,
	`gpu_compute_centre_ms` real,
	`latency_centre_ms` real,
	`context_memory_mib` real,
	FOREIGN KEY (`run_id`) REFERENCES `runs`(`run_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `run_evidence` (
	`run_id` text NOT NULL,
	`position` integer NOT NULL,
	`stream` text NOT NULL,
	`line` integer NOT NULL,
	`text` text NOT NULL,
	PRIMARY KEY(`run_id`, `position`),
	FOREIGN KEY (`run_id`) REFERENCES `runs`(`run_id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `run_hints` (
	`run_id` text NOT NULL,
	`hint` text NOT NULL,
	`value` real,
	PRIMARY KEY(`run_id`, `hint`),
	FOREIGN KEY (`run_id`) REFERENCES `runs`(`run_id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
CREATE INDEX `run_hints_by_hint` ON `run_hints` (`hint`);--> statement-breakpoint
CREATE TABLE `runs` (
	`run_id` text PRIMARY KEY NOT NULL,
	`sweep_id` text NOT NULL,
	`role` text NOT NULL,
	`cell_key` text,
	`repeat` integer NOT NULL,
	`build_id` text,
	`engine_key` text,
	`engine_sha256` text,
	`provenance` text NOT NULL,
	`environment_id` text NOT NULL,
	`outcome` text NOT NULL,
	`reason` text,
	`started_at` text,
	`wall_s` real,
	`exit_code` integer,
	`signal` text,
	`timed_out` integer NOT NULL,
	`cancelled` integer NOT NULL,
	`invocation_id` text NOT NULL,
	`notes` text NOT NULL,
	`artefact_folder` text,
	FOREIGN KEY (`sweep_id`) REFERENCES `sweeps`(`sweep_id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`cell_key`) REFERENCES `cells`(`cell_key`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`environment_id`) REFERENCES `environments`(`environment_id`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`invocation_id`) REFERENCES `invocations`(`invocation_id`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `runs_by_sweep` ON `runs` (`sweep_id`);--> statement-breakpoint
CREATE INDEX `runs_by_cell` ON `runs` (`cell_key`,`started_at`);--> statement-breakpoint
CREATE TABLE `samples` (
	`run_id` text PRIMARY KEY NOT NULL,
	`count` integer NOT NULL,
	`data` blob NOT NULL,
	FOREIGN KEY (`run_id`) REFERENCES `runs`(`run_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `sweep_cells` (
	`sweep_id` text NOT NULL,
	`cell_key` text NOT NULL,
	`engine_key` text,
	`repeats` integer NOT NULL,
	PRIMARY KEY(`sweep_id`, `cell_key`),
	FOREIGN KEY (`sweep_id`) REFERENCES `sweeps`(`sweep_id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`cell_key`) REFERENCES `cells`(`cell_key`) ON UPDATE no action ON DELETE no action
) WITHOUT ROWID;
--> statement-breakpoint
CREATE TABLE `sweeps` (
	`sweep_id` text PRIMARY KEY NOT NULL,
	`source` text NOT NULL,
	`name` text,
	`matrix` text,
	`provenance` text NOT NULL,
	`recording_set` text,
	`state` text NOT NULL,
	`started_at` text,
	`finished_at` text,
	`git_commit` text,
	`git_branch` text,
	`git_dirty` integer,
	`seed` integer,
	`tool_version` text NOT NULL,
	`trtexec` text,
	`tensorrt` text,
	`host` text,
	`plan` text
);
--> statement-breakpoint
CREATE INDEX `sweeps_by_commit` ON `sweeps` (`git_commit`);--> statement-breakpoint
CREATE INDEX `sweeps_by_start` ON `sweeps` (`started_at`);--> statement-breakpoint
CREATE TABLE `time_statistics` (
	`run_id` text NOT NULL,
	`metric` text NOT NULL,
	`min_ms` real NOT NULL,
	`max_ms` real NOT NULL,
	`mean_ms` real,
	`median_ms` real NOT NULL,
	`p90_ms` real,
	`p95_ms` real,
	`p99_ms` real,
	`other_percentiles` text,
	PRIMARY KEY(`run_id`, `metric`),
	FOREIGN KEY (`run_id`) REFERENCES `runs`(`run_id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
