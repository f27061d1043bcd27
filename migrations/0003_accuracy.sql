CREATE TABLE `accuracy` (
	`accuracy_id` text PRIMARY KEY NOT NULL,
	`sweep_id` text,
	`model` text NOT NULL,
	`precision` text NOT NULL,
	`precision_via` text NOT NULL,
	`reference_sha256` text NOT NULL,
	`variant_sha256` text NOT NULL,
	`inputs` text NOT NULL,
	`samples` integer NOT NULL,
	`sqnr_db` real,
	`relative_error` real NOT NULL,
	`cosine_min` real NOT NULL,
	`cosine_mean` real NOT NULL,
	`max_abs_error` real NOT NULL,
	`top1_same` integer,
	`top1_of` integer,
	`custom_name` text,
	`custom_variant` real,
	`custom_reference` real,
	`versions` text NOT NULL,
	`provenance` text NOT NULL,
	`measured_at` text NOT NULL,
	FOREIGN KEY (`sweep_id`) REFERENCES `sweeps`(`sweep_id`) ON UPDATE no action ON DELETE set null
);
--> statement-breakpoint
CREATE INDEX `accuracy_by_variant` ON `accuracy` (`variant_sha256`,`measured_at`);--> statement-breakpoint
CREATE INDEX `accuracy_by_model` ON `accuracy` (`model`,`precision`,`measured_at`);