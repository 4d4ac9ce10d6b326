import reader
import sender


def main():
    facts = reader.collect()
    sender.deliver(facts)
    print("Everything is fine.")


main()
