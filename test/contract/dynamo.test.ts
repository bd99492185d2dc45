import { aDynamo } from '../support/dynamo/a-dynamo.ts'
import { storesContract } from './task-store.ts'

const dynamo = aDynamo()

storesContract(dynamo.newStores)
