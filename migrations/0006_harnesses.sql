CREATE TABLE `run_methods` (
	`run_id` text PRIMARY KEY NOT NULL,
	`harness` text NOT NULL,
	`harness_version` text,
	`timer` text NOT NULL,
	`in_flight` real,
	`percentile_rule` text NOT NULL,
	`transfers` integer,
	`warm_up_runs` integer,
	`timed_runs` integer,
	FOREIGN KEY (`run_id`) REFERENCES `runs`(`run_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
CREATE TABLE `run_values` (
	`run_id` text NOT NULL,
	`metric` text NOT NULL,
	`position` integer NOT NULL,
	`value` real NOT NULL,
	PRIMARY KEY(`run_id`, `metric`),
	FOREIGN KEY (`run_id`) REFERENCES `runs`(`run_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
ALTER TABLE `cells` ADD `harness` text;