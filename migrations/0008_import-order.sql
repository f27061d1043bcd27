CREATE TABLE `sweep_imports` (
	`sweep_id` text PRIMARY KEY NOT NULL,
	`imported_at` text NOT NULL,
	FOREIGN KEY (`sweep_id`) REFERENCES `sweeps`(`sweep_id`) ON UPDATE no action ON DELETE cascade
);
--> statement-breakpoint
INSERT INTO `sweep_imports`
SELECT `sweep_id`, strftime('%Y-%m-%dT%H:%M:%fZ', `rowid` / 1000.0, 'unixepoch') FROM `sweeps` WHERE `source` = 'import';
