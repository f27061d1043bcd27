-- A finding is open until it is recovered; whether it lasts and its cause are no states. What was suspected is no finding.
DELETE FROM `findings` WHERE `state` = 'suspected';--> statement-breakpoint
UPDATE `findings` SET `cause` = 'machine' WHERE `state` = 'machine';--> statement-breakpoint
UPDATE `findings` SET `cause` = coalesce(`cause`, 'environment'), `kind` = 'change' WHERE `kind` = 'environment';--> statement-breakpoint
UPDATE `findings` SET `state` = CASE WHEN `state` IN ('confirmed', 'open', 'machine') THEN 'open' ELSE 'recovered' END;--> statement-breakpoint
UPDATE `findings` SET `confirmed_by` = NULL WHERE `confirmed_by` = 'previousSweep';--> statement-breakpoint
ALTER TABLE `findings` RENAME COLUMN `confirmed_by` TO `lasts`;--> statement-breakpoint
ALTER TABLE `findings` DROP COLUMN `probability`;--> statement-breakpoint
UPDATE `judged_sweeps` SET `judged_by` = 'earlierRules';
