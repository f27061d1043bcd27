-- What was derived from rows goes: checksums, and what `bench check` kept of runs.
DROP TRIGGER IF EXISTS `run_came`;--> statement-breakpoint
DROP TRIGGER IF EXISTS `run_changed`;--> statement-breakpoint
DROP TRIGGER IF EXISTS `run_went`;--> statement-breakpoint
DROP TABLE IF EXISTS `sweep_values`;--> statement-breakpoint
ALTER TABLE `accuracy` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `acknowledgements` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `artefacts` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `attachments` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `attempts` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `baselines` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `builds` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `cells` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `environments` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `finding_cells` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `findings` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `invocations` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `judged_sweeps` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `layer_profiles` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `measurements` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `pruned_runs` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `run_evidence` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `run_flags` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `run_hints` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `run_methods` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `run_telemetry` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `run_values` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `runs` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `samples` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `sweep_cells` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `sweep_imports` DROP COLUMN `row_checksum`;--> statement-breakpoint
ALTER TABLE `sweeps` DROP COLUMN `row_checksum`;--> statement-breakpoint
CREATE TABLE `__new_time_statistics` (
	`run_id` text NOT NULL,
	`metric` text NOT NULL,
	`min_ms` real NOT NULL,
	`max_ms` real NOT NULL,
	`mean_ms` real,
	`median_ms` real NOT NULL,
	`percentiles` text NOT NULL,
	PRIMARY KEY(`run_id`, `metric`),
	FOREIGN KEY (`run_id`) REFERENCES `runs`(`run_id`) ON UPDATE no action ON DELETE cascade
) WITHOUT ROWID;
--> statement-breakpoint
-- A merge patch leaves out what is null.
INSERT INTO `__new_time_statistics`
SELECT `run_id`, `metric`, `min_ms`, `max_ms`, `mean_ms`, `median_ms`, json_patch(
	CASE WHEN json_valid(`other_percentiles`) THEN `other_percentiles` ELSE '{}' END,
	json_object('90', `p90_ms`, '95', `p95_ms`, '99', `p99_ms`)
) FROM `time_statistics`;--> statement-breakpoint
DROP TABLE `time_statistics`;--> statement-breakpoint
ALTER TABLE `__new_time_statistics` RENAME TO `time_statistics`;
