/** The groups of calls, in the order of the document. */
export const tags = {
  configurations: 'List, read, add, change and delete records.',
  exchange: 'Many records at once, also in the formats of other tools.',
  credentials: 'Get a session or a token, and end it.',
  operation: 'Health, metrics, this description, and the console for browsers.',
} as const

export type TagName = keyof typeof tags
