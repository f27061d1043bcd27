ALTER TABLE `measurements` ADD `items_per_s` real;--> statement-breakpoint
ALTER TABLE `measurements` ADD `bound_by` text;--> statement-breakpoint
UPDATE `measurements` SET `items_per_s` = `throughput_qps` * (
	SELECT CASE WHEN count(*) = count(`batch`) AND min(`batch`) = max(`batch`) THEN max(`batch`) END
	FROM (
		SELECT json_extract(`input`.`value`, '$[0]') AS `batch`
		FROM `runs` `r` JOIN `cells` `c` ON `c`.`cell_key` = `r`.`cell_key`
		CROSS JOIN json_each(CASE WHEN json_valid(`c`.`shapes`) THEN `c`.`shapes` ELSE '{}' END) `input`
		WHERE `r`.`run_id` = `measurements`.`run_id`
	)
);--> statement-breakpoint
-- The rules of src/trtexec/fitness/bound-by.ts, for what was stored before there were any.
UPDATE `measurements` SET `bound_by` = (
	SELECT CASE
		WHEN `contended` THEN 'contended'
		WHEN `paused` AND NOT `busy` THEN 'paced'
		WHEN NOT `busy` AND `copy` IS NOT NULL AND (`copy_ms` * `throughput_qps`) / 1000 >= 0.8 THEN `copy`
		WHEN `enqueue_ratio` > 0.8 OR `host` THEN 'host'
		WHEN `exposed` AND `gpu_busy` IS NOT NULL AND NOT `busy` THEN coalesce(`copy`, 'compute')
		WHEN `gpu_busy` IS NOT NULL AND NOT `busy` THEN 'host'
		WHEN `power` THEN 'power'
		WHEN `busy` THEN 'compute'
	END
	FROM (
		SELECT
			coalesce(`measurements`.`gpu_busy` >= 0.9, 0) AS `busy`,
			max(coalesce(`h`.`median_ms`, 0), coalesce(`d`.`median_ms`, 0)) AS `copy_ms`,
			CASE WHEN max(coalesce(`h`.`median_ms`, 0), coalesce(`d`.`median_ms`, 0)) > `g`.`median_ms`
				THEN CASE WHEN coalesce(`h`.`median_ms`, 0) >= coalesce(`d`.`median_ms`, 0) THEN 'h2d' ELSE 'd2h' END
			END AS `copy`,
			EXISTS (SELECT 1 FROM `run_flags` `f` WHERE `f`.`run_id` = `r`.`run_id` AND `f`.`flag` = 'contended' AND `f`.`effect` <> 'explained') AS `contended`,
			EXISTS (SELECT 1 FROM `run_flags` `f` WHERE `f`.`run_id` = `r`.`run_id` AND `f`.`flag` = 'hostBound') AS `host`,
			EXISTS (SELECT 1 FROM `run_flags` `f` WHERE `f`.`run_id` = `r`.`run_id` AND `f`.`flag` = 'powerLimited') AS `power`,
			coalesce(CASE WHEN json_valid(`i`.`banner`) THEN
				CAST(json_extract(`i`.`banner`, '$."Inference Options"."Sleep time"') AS REAL) > 0
				OR CAST(json_extract(`i`.`banner`, '$."Inference Options"."Idle time"') AS REAL) > 0
			END, 0) AS `paused`,
			coalesce(CASE WHEN json_valid(`i`.`banner`) THEN
				json_extract(`i`.`banner`, '$."Inference Options"."ExposeDMA"') LIKE 'Enabled%'
			END, 0) AS `exposed`
		FROM `runs` `r`
		JOIN `invocations` `i` ON `i`.`invocation_id` = `r`.`invocation_id`
		LEFT JOIN `time_statistics` `g` ON `g`.`run_id` = `r`.`run_id` AND `g`.`metric` = 'gpuCompute'
		LEFT JOIN `time_statistics` `h` ON `h`.`run_id` = `r`.`run_id` AND `h`.`metric` = 'h2d'
		LEFT JOIN `time_statistics` `d` ON `d`.`run_id` = `r`.`run_id` AND `d`.`metric` = 'd2h'
		WHERE `r`.`run_id` = `measurements`.`run_id`
	)
);
