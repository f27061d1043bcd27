ALTER TABLE `environments` ADD `binding` text;
