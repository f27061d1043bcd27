interface HashedFile {
  readonly sha256: string;
  readonly bytes: number;
}

/** Content of the files that cells depend on, by absolute path; one that is not in here could not be read. */
export type HashedFiles = ReadonlyMap<string, HashedFile>;
