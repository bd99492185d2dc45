import { type Canvas, chain, chord, createClient, group } from 'baton-tasks'
import { notify, resize } from './definitions.js'

const baton = createClient({ url: 'http://127.0.0.1:7070' })

// expect-error: 'nonsense' does not exist in type 'Canvas'.
export const canvas: Canvas = { nonsense: true }

// expect-error: Wrong<"'resize' needs an input: give its signature by 'with'", never>
chain(notify, resize)

// expect-error: Wrong<"'resize' needs an input: give its signature by 'with'", never>
group([notify, resize])

// expect-error: Wrong<"'resize' needs an input: give its signature by 'with'", never>
chord([notify], resize)

// expect-error: Wrong<"'delay' is not a field here", never>
chain(notify, { type: 'a', delay: 3 })

// expect-error: 'typ' does not exist in type
group([{ typ: 'a' }])

// expect-error: 'priority' does not exist in type 'CanvasOptions'.
await baton.publish(chain(notify), { priority: 1 })

// expect-error: 'typ' does not exist in type 'Member'.
await baton.publish({ chain: [{ typ: 'a' }] })

// expect-error: Type 'string' is not assignable to type 'number'.
resize.with({ url: 'a', width: '1' })

// expect-error: 'key' does not exist in type 'SignatureOptions'.
resize.with({ url: 'a', width: 1 }, { key: 'k' })

// expect-error: Property 'bytes' does not exist on type 'string'.
;(await baton.canvasResult(group([notify]), 'canvas:a'))[0].bytes
