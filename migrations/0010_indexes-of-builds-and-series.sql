CREATE INDEX `builds_by_model` ON `builds` (`model`);--> statement-breakpoint
CREATE INDEX `runs_by_build` ON `runs` (`build_id`,`role`);--> statement-breakpoint
CREATE INDEX `sweeps_by_series` ON `sweeps` (`git_branch`,`matrix`,`provenance`,`started_at`);