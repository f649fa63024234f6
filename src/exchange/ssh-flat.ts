import { STREAM_PIECE_CHARACTERS } from '../limits.ts'
import type { ImportedConfiguration } from '../store/configuration.ts'
import { sshSection } from './ssh-config-format.ts'

/** Resolved hosts as an SSH configuration without patterns, in pieces; a server imports it to the same records. */
export function* flatSshConfiguration(drafts: Iterable<ImportedConfiguration>): Generator<string> {
  let piece = ''
  for (const draft of drafts) {
    const set = Object.entries(draft.labelsPatch ?? {}).filter(([, value]) => value !== null)
    piece += sshSection(
      { ...draft, labels: Object.fromEntries(set) as Record<string, string> },
      draft.hostname,
    )
    if (piece.length < STREAM_PIECE_CHARACTERS) continue
    yield piece
    piece = ''
  }
  yield piece
}
