CREATE TABLE `acknowledgements` (
	`finding_id` text PRIMARY KEY NOT NULL,
	`reason` text NOT NULL,
	`until` text,
	`level` real NOT NULL,
	`created_at` text NOT NULL,
	FOREIGN KEY (`finding_id`) REFERENCES `findings`(`finding_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `findings` (
	`finding_id` text PRIMARY KEY NOT NULL,
	`cell_key` text NOT NULL,
	`metric` text NOT NULL,
	`provenance` text NOT NULL,
	`git_branch` text,
	`matrix` text,
	`direction` text NOT NULL,
	`change_percent` real NOT NULL,
	`margin` real NOT NULL,
	`before_value` real NOT NULL,
	`after_value` real NOT NULL,
	`last_good_sweep_id` text,
	`first_bad_sweep_id` text NOT NULL,
	`told_sweep_id` text NOT NULL,
	`state` text NOT NULL,
	FOREIGN KEY (`cell_key`) REFERENCES `cells`(`cell_key`) ON UPDATE no action ON DELETE no action,
	FOREIGN KEY (`first_bad_sweep_id`) REFERENCES `sweeps`(`sweep_id`) ON UPDATE no action ON DELETE cascade,
	FOREIGN KEY (`told_sweep_id`) REFERENCES `sweeps`(`sweep_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE INDEX `findings_by_matrix` ON `findings` (`matrix`,`git_branch`);--> statement-breakpoint
CREATE INDEX `findings_by_cell` ON `findings` (`cell_key`);