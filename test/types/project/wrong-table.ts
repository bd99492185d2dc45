import { createTableClient, taskAlreadyExists } from 'baton-tasks/aws'
import { type resize as Resize, resize } from './definitions.js'

const table = createTableClient()

// What is right: a definition, a name with the type of its definition, and bodies. The entries are those of a transaction.
const entries = await table.transactItems(resize, { url: 'a', width: 1 }, { key: 'k', delayMs: 5 })
await table.transactItems<typeof Resize>('resize', { url: 'a', width: 1 }, { ifExists: 'reject' })
await table.transactItems([{ type: 'jobs', key: 'a' }, resize.with({ url: 'a', width: 1 })])
export const id: string | undefined = entries[0]?.Put.Item.pk
export const existing: string | undefined = taskAlreadyExists(new Error('no'))?.id
const published = await table.publish(resize, { url: 'a', width: 1 }, { ifExists: 'update' })
export const bytes: number = (await published.result()).bytes
export const same: number = (await table.result(resize, { key: 'k' })).bytes
for await (const task of table.list({ type: 'resize', status: 'failed' })) await table.get(task.id)

// expect-error: Type 'number' is not assignable to type 'string'.
await table.transactItems(resize, { url: 1, width: 1 })

// expect-error: Expected 2-3 arguments, but got 1.
await table.transactItems(resize)

// expect-error: Type '"update"' is not assignable to type '"reject"'.
await table.transactItems(resize, { url: 'a', width: 1 }, { ifExists: 'update' })

// expect-error: 'debounce' does not exist in type 'TransactOptions'.
await table.transactItems(resize, { url: 'a', width: 1 }, { debounce: { ms: 5 } })

// expect-error: Type 'number' is not assignable to type 'string'.
await table.publish(resize, { url: 1, width: 1 })

// expect-error: Property 'size' does not exist on type
;(await table.result(resize, 'resize:a')).size

// expect-error: 'tabel' does not exist in type 'TableClientSettings'.
createTableClient({ tabel: 'a' })

// expect-error: 'state' does not exist in type
table.list({ type: 'resize', state: 'failed' })
