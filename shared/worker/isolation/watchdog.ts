import { Socket } from 'node:net'
import { endOwnGroup } from './end-own-group.ts'
import { LIFELINE_FD } from './protocol.ts'

/**
 * A thread of a run's process that kills the process when its worker has died. The worker holds the other end of the
 * lifeline and writes nothing. When the worker dies, the operating system closes that end. The watchdog is a thread,
 * because a handler that never yields blocks every event of its own thread.
 */
new Socket({ fd: LIFELINE_FD }).on('end', endOwnGroup).on('error', endOwnGroup).resume()
