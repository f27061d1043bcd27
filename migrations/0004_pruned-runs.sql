CREATE TABLE `pruned_runs` (
	`run_id` text PRIMARY KEY NOT NULL,
	`pruned_at` text NOT NULL,
	`samples` integer NOT NULL,
	`layers` integer NOT NULL,
	`artefacts` integer NOT NULL,
	FOREIGN KEY (`run_id`) REFERENCES `runs`(`run_id`) ON UPDATE no action ON DELETE cascade
);
