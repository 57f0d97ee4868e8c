"""Hostile inputs and too little memory: each gives an error of ours, and nothing is half done."""
