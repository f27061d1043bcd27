-- Not in schema.ts: no query reads it. See src/store/row-checksums.ts.
ALTER TABLE `accuracy` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `acknowledgements` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `artefacts` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `attachments` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `attempts` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `baselines` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `builds` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `cells` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `environments` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `findings` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `invocations` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `layer_profiles` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `measurements` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `pruned_runs` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `run_evidence` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `run_flags` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `run_hints` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `run_methods` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `run_telemetry` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `run_values` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `runs` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `samples` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `sweep_cells` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `sweep_imports` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `sweeps` ADD `row_checksum` integer;--> statement-breakpoint
ALTER TABLE `time_statistics` ADD `row_checksum` integer;
