CREATE TABLE `sweep_values` (
	`sweep_id` text PRIMARY KEY NOT NULL,
	`format` text NOT NULL,
	`facts` text NOT NULL,
	`data` blob NOT NULL,
	`row_checksum` integer,
	FOREIGN KEY (`sweep_id`) REFERENCES `sweeps`(`sweep_id`) ON UPDATE no action ON DELETE cascade
);--> statement-breakpoint
-- What belongs to a run comes with it, in the same transaction.
CREATE TRIGGER `run_came` AFTER INSERT ON `runs` BEGIN
	DELETE FROM `sweep_values` WHERE `sweep_id` = NEW.`sweep_id`;
END;--> statement-breakpoint
CREATE TRIGGER `run_changed` AFTER UPDATE OF `sweep_id`, `role`, `cell_key`, `build_id`, `environment_id`, `outcome` ON `runs` BEGIN
	DELETE FROM `sweep_values` WHERE `sweep_id` IN (OLD.`sweep_id`, NEW.`sweep_id`);
END;--> statement-breakpoint
CREATE TRIGGER `run_went` AFTER DELETE ON `runs` BEGIN
	DELETE FROM `sweep_values` WHERE `sweep_id` = OLD.`sweep_id`;
END;
