ALTER TABLE `attempts` ADD `ended_at` text;--> statement-breakpoint
ALTER TABLE `attempts` ADD `outcome` text;--> statement-breakpoint
ALTER TABLE `attempts` ADD `reason` text;--> statement-breakpoint
ALTER TABLE `attempts` ADD `evidence` text;