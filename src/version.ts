import manifest from '../package.json' with { type: 'json' }
import { parts } from './built.ts'

export const version: string = manifest.version

/** The day of this version, for the pages of `connbook man`; it changes with the version. */
export const RELEASED = '2026-11-23'

/** Where the build puts the commit, and the bill of materials. */
export const buildAssets = { commit: 'commit.json', sbom: 'sbom.json' }

/** The commit that this was built from, and its day in UTC; null if it is not known, as in a run from source. */
export const built: { readonly commit: string | null; readonly day: string | null } =
  parts === undefined ? { commit: null, day: null } : JSON.parse(parts.text(buildAssets.commit))

/** The same for logs and metrics, where each field has a text. */
export const buildLabels = { commit: built.commit ?? 'unknown', day: built.day ?? 'unknown' }

/** What `--version` shows, with its line break. */
export function versionLine({ commit, day } = built): string {
  return `connbook ${version} (commit ${commit === null ? 'unknown' : `${commit} of ${day}`})\n`
}
