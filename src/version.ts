import manifest from '../package.json' with { type: 'json' }

export const version: string = manifest.version

/** The day of this version, for the pages of `connbook man`; it changes with the version. */
export const RELEASED = '2026-11-23'
