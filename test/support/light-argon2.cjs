// Loaded into the executable by its NODE_OPTIONS, before the program: there argon2 is as cheap as light-argon2.ts makes it here.
'use strict'
const crypto = require('node:crypto')

const computeArgon2 = crypto.argon2
crypto.argon2 = (algorithm, parameters, callback) =>
  computeArgon2(algorithm, { ...parameters, memory: 8, passes: 1, parallelism: 1 }, callback)
