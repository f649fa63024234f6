/** The variables of the environment that a client reads; the secret also as a file. */
export const clientVariables = {
  server: 'CONNBOOK_SERVER',
  authority: 'CONNBOOK_CA',
  token: 'CONNBOOK_TOKEN',
  clientId: 'CONNBOOK_LOGIN_CLIENT_ID',
  clientSecret: 'CONNBOOK_LOGIN_CLIENT_SECRET',
  completionMs: 'CONNBOOK_COMPLETION_MS',
} as const
