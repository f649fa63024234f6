/** What an import does to records that are not in it: `merge` leaves them, `replace` removes them. */
export type ImportMode = 'merge' | 'replace'

export const importModes: readonly ImportMode[] = ['merge', 'replace']
