import { defineTask } from '../../../shared/define/define-task.ts'
import { createWorker } from '../../../shared/worker/create-worker.ts'

/**
 * A process with many standalone workers, each with an id, queues and connections of its own. Each handler reports that it has
 * begun. All handlers return when the parent sends `open`.
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
    return { message: 'x'.repeat(1_000) }
  },
})

const workers = Array.from({ length: Number(count) }, (_, nth) =>
  createWorker({ tasks: [video], workerId: `${prefix}-${nth}`, concurrency: 1 }),
)
for (const worker of workers) worker.start()
process.on('message', message => {
  if (message === 'open') open()
})
process.send?.('serving')
