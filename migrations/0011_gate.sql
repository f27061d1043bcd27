-- Copied first: DROP TABLE deletes the rows that refer to the table, also within a transaction.
CREATE TABLE `__old_findings` AS SELECT * FROM `findings`;--> statement-breakpoint
CREATE TABLE `__old_acknowledgements` AS SELECT * FROM `acknowledgements`;--> statement-breakpoint
DROP TABLE `acknowledgements`;--> statement-breakpoint
DROP TABLE `findings`;--> statement-breakpoint
CREATE TABLE `findings` (
	`finding_id` text PRIMARY KEY NOT NULL,
	`kind` text NOT NULL,
	`is_warning` integer NOT NULL,
	`provenance` text NOT NULL,
	`git_branch` text,
	`matrix` text,
	`direction` text NOT NULL,
	`state` text NOT NULL,
	`group_words` text NOT NULL,
	`confirmed_by` text,
	`cause` text,
	`environment_changes` text NOT NULL,
	`probability` real,
	`pairs` text,
	`last_good_sweep_id` text,
	`first_bad_sweep_id` text NOT NULL,
	`last_bad_sweep_id` text,
	`reported_sweep_id` text NOT NULL,
	`owner` text,
	`notified_at` text,
	`row_checksum` integer,
	FOREIGN KEY (`first_bad_sweep_id`) REFERENCES `sweeps`(`sweep_id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`reported_sweep_id`) REFERENCES `sweeps`(`sweep_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `findings_by_matrix` ON `findings` (`matrix`,`git_branch`);--> statement-breakpoint
CREATE INDEX `findings_by_report` ON `findings` (`reported_sweep_id`);--> statement-breakpoint
CREATE TABLE `finding_cells` (
	`finding_id` text NOT NULL,
	`cell_key` text NOT NULL,
	`metric` text NOT NULL,
	`change_percent` real NOT NULL,
	`ci_percent` text,
	`margin` real NOT NULL,
	`before_value` real NOT NULL,
	`after_value` real NOT NULL,
	`row_checksum` integer,
	PRIMARY KEY(`finding_id`, `cell_key`, `metric`),
	FOREIGN KEY (`finding_id`) REFERENCES `findings`(`finding_id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`cell_key`) REFERENCES `cells`(`cell_key`) ON UPDATE no action ON DELETE no action
);
--> statement-breakpoint
CREATE INDEX `finding_cells_by_cell` ON `finding_cells` (`cell_key`);--> statement-breakpoint
CREATE TABLE `acknowledgements` (
	`finding_id` text PRIMARY KEY NOT NULL,
	`reason` text NOT NULL,
	`until` text,
	`owner` text,
	`created_at` text NOT NULL,
	`row_checksum` integer,
	FOREIGN KEY (`finding_id`) REFERENCES `findings`(`finding_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `judged_sweeps` (
	`sweep_id` text PRIMARY KEY NOT NULL,
	`judged_at` text NOT NULL,
	`judged_by` text NOT NULL,
	`row_checksum` integer,
	FOREIGN KEY (`sweep_id`) REFERENCES `sweeps`(`sweep_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
-- One finding with one cell: old ids stay valid. The level when it was accepted is that of its cell.
INSERT INTO `findings` (`finding_id`, `kind`, `is_warning`, `provenance`, `git_branch`, `matrix`, `direction`, `state`, `group_words`, `confirmed_by`, `environment_changes`, `last_good_sweep_id`, `first_bad_sweep_id`, `reported_sweep_id`)
SELECT `finding_id`, 'change', 0, `provenance`, `git_branch`, `matrix`, `direction`,
	CASE `state` WHEN 'new' THEN 'confirmed' WHEN 'withdrawn' THEN 'cleared' WHEN 'accepted' THEN 'open' ELSE `state` END,
	'[]', 'history', '[]', `last_good_sweep_id`, `first_bad_sweep_id`, `told_sweep_id` FROM `__old_findings`;--> statement-breakpoint
INSERT INTO `finding_cells` (`finding_id`, `cell_key`, `metric`, `change_percent`, `margin`, `before_value`, `after_value`)
SELECT `finding_id`, `cell_key`, `metric`, `change_percent`, `margin`, `before_value`, `after_value` FROM `__old_findings`;--> statement-breakpoint
INSERT INTO `acknowledgements` (`finding_id`, `reason`, `until`, `created_at`)
SELECT `finding_id`, `reason`, `until`, `created_at` FROM `__old_acknowledgements`;--> statement-breakpoint
-- A sweep with a finding was judged; when is not known.
INSERT INTO `judged_sweeps` (`sweep_id`, `judged_at`, `judged_by`)
SELECT DISTINCT s.`sweep_id`, coalesce(s.`finished_at`, s.`started_at`, ''), 'history'
FROM `__old_findings` f JOIN `sweeps` s ON s.`sweep_id` = f.`told_sweep_id`;--> statement-breakpoint
DROP TABLE `__old_acknowledgements`;--> statement-breakpoint
DROP TABLE `__old_findings`;
