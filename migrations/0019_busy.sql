-- The rules of src/trtexec/fitness/host-bound.ts: a GPU is busy from 95 % of the time on, no longer from 90 %, and copies
-- limit a run however busy its GPU is.
UPDATE `measurements` SET `bound_by` = (
	SELECT CASE
		WHEN `paused` AND `gpu_busy` < 0.95 THEN 'paced'
		WHEN `copy` IS NOT NULL AND `copies_ms` * `throughput_qps` / 1000 >= 0.8 THEN `copy`
		WHEN `bound_by` = 'host' OR `gpu_busy` >= 0.95 THEN `bound_by`
		WHEN `exposed` THEN coalesce(`copy`, 'compute')
		ELSE 'host'
	END
	FROM (
		SELECT
			coalesce(`h`.`median_ms`, 0) + coalesce(`d`.`median_ms`, 0) AS `copies_ms`,
			CASE WHEN max(coalesce(`h`.`median_ms`, 0), coalesce(`d`.`median_ms`, 0)) > `g`.`median_ms`
				THEN iif(coalesce(`h`.`median_ms`, 0) >= coalesce(`d`.`median_ms`, 0), 'h2d', 'd2h')
			END AS `copy`,
			max(`o`.`key` IN ('Sleep time', 'Idle time') AND CAST(`o`.`value` AS REAL) > 0) AS `paused`,
			max(`o`.`key` = 'ExposeDMA' AND `o`.`value` LIKE 'Enabled%') AS `exposed`
		FROM `runs` `r`
		JOIN `invocations` `i` ON `i`.`invocation_id` = `r`.`invocation_id`
		LEFT JOIN json_each(iif(json_valid(`i`.`banner`), `i`.`banner`, '{}'), '$."Inference Options"') `o`
		LEFT JOIN `time_statistics` `g` ON `g`.`run_id` = `r`.`run_id` AND `g`.`metric` = 'gpuCompute'
		LEFT JOIN `time_statistics` `h` ON `h`.`run_id` = `r`.`run_id` AND `h`.`metric` = 'h2d'
		LEFT JOIN `time_statistics` `d` ON `d`.`run_id` = `r`.`run_id` AND `d`.`metric` = 'd2h'
		WHERE `r`.`run_id` = `measurements`.`run_id`
	)
) WHERE `gpu_busy` >= 0.9 AND `bound_by` IN ('compute', 'host', 'power');
