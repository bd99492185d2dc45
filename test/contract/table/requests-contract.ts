import fc from 'fast-check'
import { expect, it } from 'vitest'
import { aDynamo } from '../../support/dynamo/a-dynamo.ts'
import { requestsOn, transactionsOn } from './random-requests.ts'
import { type TwoTables, twoTables } from './two-tables.ts'

/** Holds the table in memory to DynamoDB Local by this many lists of random requests, and of random transactions. */
export function requestsContract({ runs, seed }: { readonly runs: number; readonly seed: number }): void {
  const dynamo = aDynamo()

  /** One table for all runs: what an earlier run left there is no harm. */
  const tables = async (): Promise<TwoTables> => twoTables(dynamo.client(), await dynamo.createTable())

  /** A smaller list would meet other items, so lists are not made smaller. */
  const settings = { numRuns: runs, seed, endOnFailure: true }

  it('random requests have the same outcomes, answers and units, and leave the same items', async () => {
    const both = await tables()
    const lists = fc.array(requestsOn(both.name), { minLength: 20, maxLength: 40 })

    await fc.assert(
      fc.asyncProperty(lists, async requests => {
        for (const request of requests) {
          const { memory, local } = await both.send(request)
          expect(memory, JSON.stringify(request)).toEqual(local)
        }
        const { memory, local } = await both.items()
        expect(memory).toEqual(local)
      }),
      settings,
    )
  })

  it('random transactions are made or refused alike, and leave the same items', async () => {
    const both = await tables()
    const lists = fc.array(transactionsOn(both.name), { minLength: 5, maxLength: 10 })

    await fc.assert(
      fc.asyncProperty(lists, async transactions => {
        for (const items of transactions) {
          const { memory, local } = await both.transact(items)
          expect(memory, JSON.stringify(items)).toEqual(local)
        }
        const { memory, local } = await both.items()
        expect(memory).toEqual(local)
      }),
      settings,
    )
  })
}
