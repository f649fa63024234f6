/** The owner of the state that the journal makes durable. */
export interface JournalOwner<Change> {
  /** Form of the changes. A file of another one gets no change: a new file begins before. */
  readonly version: number
  /** Called before the checks of the changes for each frame: brings up to date what they ask. Never rejects. */
  beforeFrame?(): Promise<void> | undefined
  /** Compact JSON of an array. */
  encode(changes: readonly Change[]): string
  /** Applies a durable change to the state. Called in the order of revisions. */
  apply(change: Change, revision: number): void
  /**
   * Called when a new file must begin because the present one has another form. If it fails, the waiting changes are refused.
   *
   * @param begin Begins it, with a new path for the old file; without that, the old file is replaced.
   */
  renew(begin: (keepAs?: string) => Promise<void>): Promise<void>
  /** All appended changes that are not applied yet are refused. Called before their promises reject. */
  refuse(): void
  /** Writes the whole state to new files, with `restart`. Called after the disk failed, until it succeeds. */
  recover(): Promise<void>
}
