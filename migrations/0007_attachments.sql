CREATE TABLE `attachments` (
	`run_id` text NOT NULL,
	`name` text NOT NULL,
	`kind` text NOT NULL,
	`sha256` text NOT NULL,
	`bytes` integer NOT NULL,
	`attached_at` text NOT NULL,
	`pruned_at` text,
	PRIMARY KEY(`run_id`, `name`),
	FOREIGN KEY (`run_id`) REFERENCES `runs`(`run_id`) ON UPDATE no action ON DELETE cascade
);
