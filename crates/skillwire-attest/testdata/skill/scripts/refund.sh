#!/bin/sh
echo "refund $1"
