/**
 * By which a caller on the owner's socket says who it is, in percent-encoding: the system account, and the command as
 * typed, without names. Anywhere else they mean nothing.
 */
export const ownerHeaders = { account: 'connbook-account', command: 'connbook-command' } as const
