/** Whether tests run at full length, as in `npm run test:faults`. What a test tries is chosen by `extent`. */
export const isFull = process.env.CONNBOOK_TEST_EXTENT === 'full'
