import { defineTask } from '../../../shared/define/define-task.ts'
import { createWorker } from '../../../shared/worker/create-worker.ts'

/**
 * A process with many standalone workers, each with an id, queues and connections of its own. Their handlers begin, say so,
 * and all return when the parent says `open`.
 */
const [prefix = '', count = '1'] = process.argv.slice(2)

let open = () => {}
const gate = new Promise<void>(resolve => {
  open = resolve
})

const video = defineTask('video', {
  async run() {
    process.send?.('begun')
    await gate
    return { said: 'x'.repeat(1_000) }
  },
})

const workers = Array.from({ length: Number(count) }, (_, nth) =>
  createWorker({ tasks: [video], workerId: `${prefix}-${nth}`, concurrency: 1 }),
)
for (const worker of workers) worker.start()
process.on('message', said => {
  if (said === 'open') open()
})
process.send?.('serving')
