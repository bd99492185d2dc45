import { App, RemovalPolicy, Stack } from 'aws-cdk-lib'
import { TaskSystem } from '../../infra/index.ts'

/** The app that the emulator deploys: handlers, many types in one function, a flow, and a type that is claimed over HTTP later. */
const stack = new Stack(new App(), 'Foreign')
const tasks = new TaskSystem(stack, 'Tasks', { removalPolicy: RemovalPolicy.DESTROY, logLevel: 'INFO' })
const entry = 'test/emulator/tasks.ts'
tasks.addHandler('Double', { entry, task: 'double', otherTypes: [] })
tasks.addHandlers('Shop', { entries: 'test/emulator/shop.ts' })
tasks.addFlow('Order', { entry: 'test/emulator/shop.ts', flow: 'order' })
